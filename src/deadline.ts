/** Bounds a piece of work: one timer that moves from step to step, and a signal that says that it has run out. */
export class Deadline {
  private readonly controller = new AbortController()
  private timer: NodeJS.Timeout | undefined
  private endsAt!: number
  private reason!: () => Error

  /** Aborted, with the error of the step, when the deadline passes. */
  readonly signal: AbortSignal = this.controller.signal

  /**
   * @param ms - how long the first step may take
   * @param reason - makes the error for the case that it takes longer
   */
  constructor(ms: number, reason: () => Error) {
    this.move(ms, reason)
  }

  /** Ends the step and bounds the next one; throws when the step's time was already over. */
  move(ms: number, reason: () => Error): void {
    this.check()
    clearTimeout(this.timer)
    this.endsAt = performance.now() + ms
    this.reason = reason
    this.timer = setTimeout(() => this.controller.abort(reason()), ms)
  }

  /** Throws when the time is over, even if a blocked event loop gave the timer no chance to fire. */
  check(): void {
    if (performance.now() >= this.endsAt) this.controller.abort(this.reason())
    this.signal.throwIfAborted()
  }

  /** Settles as the work does, or rejects when the deadline passes first. */
  race<Value>(work: Promise<Value>): Promise<Value> {
    return new Promise<Value>((resolve, reject) => {
      if (this.signal.aborted) reject(this.signal.reason)
      else this.signal.addEventListener('abort', () => reject(this.signal.reason), { once: true })
      work.then(resolve, reject)
    })
  }

  clear(): void {
    clearTimeout(this.timer)
  }
}
