import type { SubjectName, Subject } from '../subjects/catalog.js'
import { subjects } from '../subjects/catalog.js'
import { ApplicationProcess } from './application-process.js'
import type { Database, Databases } from './databases.js'
import { startRedis } from './redis.js'

/** A subject at work: its application, and its database. */
export interface Contestant {
  name: SubjectName
  subject: Subject
  application: ApplicationProcess
  database: Database
}

export interface Field {
  contestants: Contestant[]
  /** Those that could not be run, and why. */
  missing: { subject: Subject; reason: string }[]
  close(): Promise<void>
}

export const POOL_SIZE = 10

/** While one has its turn, the others wait; V8 would throw away the code of those as it does in no application under load. */
const KEEP_CODE = ['--no-flush-bytecode', '--no-memory-reducer']

/** Starts an application for each subject, except where something that it needs is not on this machine. */
export async function startContestants(
  names: readonly SubjectName[],
  databases: Databases,
  execArgv: string[] = [],
): Promise<Field> {
  const needsRedis = names.some((name) => (subjects[name] as Subject).needsRedis)
  const redis = needsRedis ? await startRedis() : undefined
  const field: Field = { contestants: [], missing: [], close }
  try {
    for (const name of names) {
      const subject: Subject = subjects[name]
      if (subject.needsRedis && redis && 'missing' in redis) {
        field.missing.push({ subject, reason: redis.missing })
        continue
      }
      const database = await databases.create(name)
      const redisUrl = redis && 'url' in redis ? redis.url : undefined
      const config = { subject: name, databaseUrl: database.url, redisUrl, poolSize: POOL_SIZE }
      const application = await ApplicationProcess.start(config, [...KEEP_CODE, ...execArgv])
      field.contestants.push({ name, subject, application, database })
    }
    return field
  } catch (error) {
    await close()
    throw error
  }

  async function close(): Promise<void> {
    await Promise.all(field.contestants.map(({ application }) => application.stop()))
    await Promise.all(field.contestants.map(({ database }) => database.close()))
    if (redis && 'url' in redis) await redis.close()
  }
}
