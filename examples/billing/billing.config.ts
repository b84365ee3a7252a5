/** What the application has to be told. */
export interface BillingConfig {
  databaseUrl: string
  /** Shared with Corvel Payments, which signs its deliveries with it. */
  corvelSecret: string
  /** Shared with the partner that sells credits for us. */
  partnerSecret: string
  /** Of the endpoint in Stripe's dashboard: `whsec_…`. */
  stripeSecret: string
  /** Of the webhook in GitHub's settings. */
  githubSecret: string
}

export const BILLING_CONFIG = Symbol('BILLING_CONFIG')
