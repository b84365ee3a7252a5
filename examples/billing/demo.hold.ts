import type { NestInterceptor, CallHandler, ExecutionContext } from '@nestjs/common'
import { Injectable } from '@nestjs/common'
import type { Observable } from 'rxjs'
import { CreditsService } from './credits.service.js'

/** A handler that has credited an account and is kept from going on: its transaction is open. */
export class Hold {
  readonly reached: Promise<void>
  private reach!: () => void
  private readonly ended: Promise<void>
  private end!: (error?: Error) => void

  constructor() {
    this.reached = new Promise((resolve) => (this.reach = resolve))
    this.ended = new Promise((resolve, reject) => (this.end = (error) => (error ? reject(error) : resolve())))
    this.ended.catch(() => {}) // a hold that no handler has reached may be ended as well
  }

  stay(): Promise<void> {
    this.reach()
    return this.ended
  }

  letFail(): void {
    this.end(new Error('The handler fails, since the scene wants it to.'))
  }
}

/** Stands for the credits service in the demo, whose scenes have to know and to decide when a handler goes on. */
@Injectable()
export class HeldCreditsService extends CreditsService {
  private hold: Hold | undefined

  holdNext(): Hold {
    return (this.hold = new Hold())
  }

  override async add(accountId: string, amount: number): Promise<void> {
    await super.add(accountId, amount)
    const hold = this.hold
    this.hold = undefined
    await hold?.stay()
  }
}

/** Counts deliveries that have arrived at the application, whatever becomes of them. */
export class Arrivals implements NestInterceptor {
  private count = 0
  private waiters: { count: number; resolve: () => void }[] = []

  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    this.count++
    for (const waiter of this.waiters) if (this.count >= waiter.count) waiter.resolve()
    return next.handle()
  }

  /** Resolves when so many more have arrived. */
  next(count: number): Promise<void> {
    return new Promise((resolve) => this.waiters.push({ count: this.count + count, resolve }))
  }
}
