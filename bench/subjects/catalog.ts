import type { DynamicModule } from '@nestjs/common'
import type { ApplicationConfig } from '../harness/application-process.js'

/** A way to handle webhooks, as a Nest module that serves `POST /events`, and `POST /batches` if it can. */
export interface Subject {
  title: string
  /** What it does not guarantee, for the table. */
  lacks: string
  takesBatches?: boolean
  needsRedis?: boolean
  /** Only the application that serves it loads its code. */
  load(): Promise<{ moduleOf(config: ApplicationConfig): DynamicModule }>
}

export const subjects = {
  ours: {
    title: 'nestjs-webhook-idempotency',
    lacks: '-',
    takesBatches: true,
    load: () => import('./ours.js'),
  },
  'ours-sql': {
    title: "nestjs-webhook-idempotency, claim: 'sql'",
    lacks: '-',
    takesBatches: true,
    load: () => import('./ours.js'),
  },
  prisma: {
    title: 'by hand with Prisma',
    lacks:
      'duplicates of an event in progress hold connections until the pool is empty; an error that the handler swallows ' +
      'answers 200 and commits nothing; a handler past its timeout goes on',
    takesBatches: true,
    load: () => import('./prisma.js'),
  },
  interceptor: {
    title: 'by hand with Prisma, in an interceptor',
    lacks: 'as by hand with Prisma; it shows what an interceptor and a guard of Nest cost without any library in them',
    load: () => import('./interceptor.js'),
  },
  pg: {
    title: 'by hand with pg alone',
    lacks: 'as by hand with Prisma, and no Prisma in the handler: it is the limit, not a choice',
    takesBatches: true,
    load: () => import('./pg.js'),
  },
  unprotected: {
    title: 'no protection',
    lacks: 'anything: each delivery has its effect',
    takesBatches: true,
    load: () => import('./unprotected.js'),
  },
  dbos: {
    title: 'DBOS workflow (PostgreSQL)',
    lacks: 'a retry after a failure: the error of the first delivery is kept and given to all later ones',
    load: () => import('./dbos.js'),
  },
  nodeIdempotency: {
    title: '@node-idempotency/nestjs (Redis)',
    lacks:
      'effect and key are not one transaction: a process that dies in between leaves a key that refuses every retry for a ' +
      'day; the answer to an error is kept and given to every retry, so the event is lost; 409 to duplicates of an event in ' +
      'progress; Redis may lose keys',
    needsRedis: true,
    load: () => import('./node-idempotency.js'),
  },
  powertools: {
    title: 'Powertools idempotency (Redis)',
    lacks:
      'effect and key are not one transaction: a process that dies in between makes the next retry apply the event again; an ' +
      'error to duplicates of an event in progress; keys expire after an hour by default; Redis may lose keys',
    needsRedis: true,
    load: () => import('./powertools.js'),
  },
} satisfies Record<string, Subject>

export type SubjectName = keyof typeof subjects
