import type { CanActivate, ExecutionContext, RawBodyRequest } from '@nestjs/common'
import { Inject, Injectable, UnauthorizedException } from '@nestjs/common'
import type { Request } from 'express'
import type { BillingConfig } from './billing.config.js'
import { BILLING_CONFIG } from './billing.config.js'
import { isSigned } from './hmac-signature.js'

/** Lets only what Corvel has signed come near a handler. It reads the raw body: the signature covers bytes, not objects. */
@Injectable()
export class CorvelSignatureGuard implements CanActivate {
  constructor(@Inject(BILLING_CONFIG) private readonly config: BillingConfig) {}

  canActivate(context: ExecutionContext): boolean {
    const { rawBody, headers } = context.switchToHttp().getRequest<RawBodyRequest<Request>>()
    if (rawBody && isSigned(this.config.corvelSecret, rawBody, headers['corvel-signature'])) return true
    throw new UnauthorizedException('The signature was refused.')
  }
}
