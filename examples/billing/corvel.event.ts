/** What Corvel Payments delivers when an invoice has been paid. */
export interface InvoicePaid {
  id: string
  type: 'invoice.paid'
  data: { account: string; credits: number }
}
