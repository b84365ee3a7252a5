/** Bounds a piece of work: one timer that goes from step to step, and a signal that says that it has run out. */
export class Deadline {
  private timer: NodeJS.Timeout | undefined
  private timerEndsAt = Infinity
  private endsAt = Infinity
  private reason!: () => Error
  private passedWith: Error | undefined
  private readonly refusals: ((reason: Error) => void)[] = []
  private controller: AbortController | undefined

  /**
   * @param ms - how long the first step may take
   * @param reason - makes the error for the case that it takes longer
   */
  constructor(ms: number, reason: () => Error) {
    this.move(ms, reason)
  }

  /** The error of the step whose time is over. */
  get error(): Error | undefined {
    return this.passedWith
  }

  /** Aborted, with the error of the step, when the deadline passes. */
  get signal(): AbortSignal {
    // Few handlers look at it, and it is dear.
    if (!this.controller) {
      this.controller = new AbortController()
      if (this.passedWith) this.controller.abort(this.passedWith)
    }
    return this.controller.signal
  }

  /** Ends the step and bounds the next one; throws when the step's time was already over. */
  move(ms: number, reason: () => Error): void {
    this.check()
    this.endsAt = performance.now() + ms
    this.reason = reason
    if (this.endsAt < this.timerEndsAt) this.startTimer(ms)
  }

  /** Throws when the time is over, even if a blocked event loop gave the timer no chance to fire. */
  check(): void {
    if (performance.now() >= this.endsAt) this.pass()
    if (this.passedWith) throw this.passedWith
  }

  /** Settles as the work does, or rejects when the deadline passes first. */
  race<Value>(work: Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      if (this.passedWith) reject(this.passedWith)
      else this.refusals.push(reject)
      work.then(resolve, reject)
    })
  }

  clear(): void {
    clearTimeout(this.timer)
  }

  private startTimer(ms: number): void {
    clearTimeout(this.timer)
    this.timerEndsAt = performance.now() + ms
    this.timer = setTimeout(() => this.ring(), ms)
  }

  /** Steps that end later than the one before leave the timer as it is. */
  private ring(): void {
    const left = this.endsAt - performance.now()
    if (left > 0) this.startTimer(Math.ceil(left))
    else this.pass()
  }

  private pass(): void {
    if (this.passedWith) return
    this.passedWith = this.reason()
    for (const refuse of this.refusals) refuse(this.passedWith)
    this.controller?.abort(this.passedWith)
  }
}
