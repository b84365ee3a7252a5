/** A promise that the test resolves: what waits for `opened` goes on when the test says so. */
export class Latch {
  open!: () => void
  readonly opened = new Promise<void>((resolve) => {
    this.open = resolve
  })
}
