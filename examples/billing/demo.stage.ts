import { randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import { setImmediate } from 'node:timers/promises'
import Stripe from 'stripe'
import type { BillingConfig } from './billing.config.js'
import type { InvoicePaid } from './corvel.event.js'
import type { Hold } from './demo.hold.js'
import type { EventKey, Ledger } from './demo.ledger.js'
import type { Replica } from './demo.replica.js'
import { sign } from './hmac-signature.js'
import type { PartnerSale } from './partner.source.js'

const examples: { name: string; examples: unknown[] }[] = createRequire(import.meta.url)('@octokit/webhooks-examples')
const starPayload = examples.find(({ name }) => name === 'star')!.examples[0]

/** One delivery and what became of it. */
export interface Delivery {
  /** The events in it that must have their effect once it is over: none if it was not the sender's, or not readable. */
  due: readonly EventKey[]
  /** The outcome, or the status when it was not a 2xx. */
  answer: string
}

export interface DeliveryOptions {
  /** Which replica gets it; otherwise they take turns. */
  to?: number
  /** Signs as somebody who does not know the secret. */
  forged?: boolean
}

/** How many credits each event of the demo adds. */
export const CREDITS = 100

/** What a scene plays with: the replicas, the senders, and an account of its own. */
export class Stage {
  readonly account = `acct_${randomUUID()}`
  readonly deliveries: Delivery[] = []
  private turn = 0

  constructor(
    private readonly replicas: readonly Replica[],
    private readonly ledger: Ledger,
    private readonly config: BillingConfig,
    /** Aborted when the scene is over or takes too long. */
    readonly signal: AbortSignal,
  ) {}

  /** An event of Corvel's that was not delivered yet. */
  invoicePaid(): InvoicePaid {
    return { id: `evt_${randomUUID()}`, type: 'invoice.paid', data: { account: this.account, credits: CREDITS } }
  }

  deliver(event: InvoicePaid | Omit<InvoicePaid, 'id'>, { to, forged }: DeliveryOptions = {}): Promise<void> {
    const body = JSON.stringify(event)
    const signature = sign(forged ? 'not the secret' : this.config.corvelSecret, body)
    const due = 'id' in event && !forged ? [{ source: 'corvel', id: event.id }] : []
    return this.post('/webhooks/corvel', body, { 'corvel-signature': signature }, due, to)
  }

  /** Delivers sales of the partner's as one batch. */
  deliverSales(references: readonly string[]): Promise<void> {
    const sales: PartnerSale[] = references.map((reference) => ({ reference, account: this.account, credits: CREDITS }))
    const body = JSON.stringify(sales)
    const headers = { 'partner-signature': sign(this.config.partnerSecret, body) }
    const due = references.map((id) => ({ source: 'partner', id }))
    return this.post('/webhooks/partner', body, headers, due)
  }

  /** Delivers what Stripe sends when a checkout is completed, signed by Stripe's own package. */
  deliverCheckout(id: string): Promise<void> {
    const object = { client_reference_id: this.account, metadata: { credits: String(CREDITS) } }
    const body = JSON.stringify({ id, object: 'event', type: 'checkout.session.completed', data: { object } })
    const signature = Stripe.webhooks.generateTestHeaderString({ payload: body, secret: this.config.stripeSecret })
    return this.post('/webhooks/stripe', body, { 'stripe-signature': signature }, [{ source: 'stripe', id }])
  }

  /** Delivers what GitHub publishes as an example of a star. */
  deliverStar(id: string): Promise<void> {
    const body = JSON.stringify(starPayload)
    const headers = {
      'x-github-event': 'star',
      'x-github-delivery': id,
      'x-hub-signature-256': `sha256=${sign(this.config.githubSecret, body)}`,
    }
    return this.post(`/webhooks/github/${this.account}`, body, headers, [{ source: 'github', id }])
  }

  async replay(events: readonly InvoicePaid[]): Promise<void> {
    const replays = await this.nextReplica().retryJob.replay(events)
    for (const { id, outcome } of replays) this.deliveries.push({ due: [{ source: 'corvel', id }], answer: outcome })
  }

  /** Keeps the next handler of a replica within its transaction, after the effect. */
  holdNext(replica: number): Hold {
    return this.replicas[replica]!.credits.holdNext()
  }

  /** Resolves when so many further deliveries wait at each replica: at the first one in memory, at others in the database. */
  async waiting(counts: readonly number[]): Promise<void> {
    await Promise.all(counts.map((count, index) => this.replicas[index]!.arrivals.next(count)))
    await setImmediate() // from its arrival to its place in the queue a delivery meets nothing but promises
    if (counts.length > 1) await this.ledger.blocked(this.signal)
  }

  /** Delivers something, and notes which events must have their effect now and what the answer was. */
  async post(
    path: string,
    body: string,
    headers: Record<string, string>,
    due: readonly EventKey[],
    to?: number,
  ): Promise<void> {
    const { url } = to === undefined ? this.nextReplica() : this.replicas[to]!
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
      signal: this.signal,
    })
    const reply = (await response.json()) as { outcome?: string }
    this.deliveries.push({ due, answer: response.ok ? (reply.outcome ?? 'processed') : String(response.status) })
  }

  private nextReplica(): Replica {
    return this.replicas[this.turn++ % this.replicas.length]!
  }
}
