import type { CallHandler, CanActivate, DynamicModule, ExecutionContext, NestInterceptor } from '@nestjs/common'
import {
  Body,
  Controller,
  createParamDecorator,
  HttpCode,
  Injectable,
  Module,
  Post,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common'
import type { Observable } from 'rxjs'
import { lastValueFrom, of } from 'rxjs'
import type { Prisma } from '../../prisma/generated/client.js'
import type { ApplicationConfig } from '../harness/application-process.js'
import type { BenchEvent } from '../harness/bench-event.js'
import { applyEvent, BenchPrisma, claimOf, prismaOf } from './bench-prisma.js'

interface EventRequest {
  body: BenchEvent
  tx?: Prisma.TransactionClient
}

const Tx = createParamDecorator((_: unknown, context) => context.getArgByIndex<EventRequest>(0).tx)

@Injectable()
class SignatureGuard implements CanActivate {
  canActivate(): boolean {
    return true
  }
}

@Injectable()
class TransactionInterceptor implements NestInterceptor {
  constructor(private readonly prisma: BenchPrisma) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = context.getArgByIndex<EventRequest>(0)
    const reply = await this.prisma.$transaction(async (tx) => {
      const { count } = await tx.processedEvent.createMany({ data: [claimOf(request.body)], skipDuplicates: true })
      if (count === 0) return { outcome: 'duplicate' }
      request.tx = tx
      await lastValueFrom(next.handle(), { defaultValue: undefined })
      return { outcome: 'processed' }
    })
    return of(reply)
  }
}

@Controller()
class EventsController {
  @Post('events')
  @HttpCode(200)
  @UseGuards(SignatureGuard)
  @UseInterceptors(TransactionInterceptor)
  async event(@Body() event: BenchEvent, @Tx() tx: Prisma.TransactionClient): Promise<void> {
    await applyEvent(tx, event)
  }
}

@Module({})
class InterceptorModule {}

export function moduleOf(config: ApplicationConfig): DynamicModule {
  return { module: InterceptorModule, controllers: [EventsController], providers: [prismaOf(config)] }
}
