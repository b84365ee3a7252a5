/** Bounds a piece of work: one timer that moves from step to step, and a signal that says that it has run out. */
export class Deadline {
  private readonly controller = new AbortController()
  private refuse!: (reason: unknown) => void
  private readonly passed = new Promise<never>((_, reject) => (this.refuse = reject))
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
    // It may pass while nothing is raced.
    this.passed.catch(() => {})
    this.move(ms, reason)
  }

  /** Ends the step and bounds the next one; throws when the step's time was already over. */
  move(ms: number, reason: () => Error): void {
    this.check()
    clearTimeout(this.timer)
    this.endsAt = performance.now() + ms
    this.reason = reason
    this.timer = setTimeout(() => this.pass(), ms)
  }

  /** Throws when the time is over, even if a blocked event loop gave the timer no chance to fire. */
  check(): void {
    if (performance.now() >= this.endsAt) this.pass()
    this.signal.throwIfAborted()
  }

  /** Settles as the work does, or rejects when the deadline passes first. */
  race<Value>(work: Promise<Value>): Promise<Value> {
    return Promise.race([this.passed, work])
  }

  clear(): void {
    clearTimeout(this.timer)
  }

  private pass(): void {
    this.controller.abort(this.reason())
    this.refuse(this.signal.reason)
  }
}
