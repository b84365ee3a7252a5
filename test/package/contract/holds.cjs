/** Stops handlers where the contract wants them to be in the middle of their transaction. */
exports.Holds = class {
  /** @type {Map<string, { enter: () => void, left: Promise<void> }>} */
  #expected = new Map()

  /** @param {string} id of the event whose next handler stops */
  expect(id) {
    /** @type {() => void} */
    let enter = () => {}
    /** @type {() => void} */
    let release = () => {}
    const reached = /** @type {Promise<void>} */ (new Promise((resolve) => (enter = resolve)))
    const left = /** @type {Promise<void>} */ (new Promise((resolve) => (release = resolve)))
    this.#expected.set(id, { enter, left })
    return { reached, release }
  }

  /** For the handlers. */
  pass = async (/** @type {string} */ id) => {
    const hold = this.#expected.get(id)
    this.#expected.delete(id)
    hold?.enter()
    await hold?.left
  }
}
