import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'
import { connect, createServer } from 'node:net'

/** What a broken network swallows: what the application sends, what the database answers, or both. */
export type Direction = 'requests' | 'answers' | 'both'

interface Link {
  application: Socket
  database: Socket
}

/** The network between one application and the database, which can break as networks do. */
export class Proxy {
  private readonly links = new Set<Link>()
  private hole: Direction | undefined

  private constructor(
    private readonly server: Server,
    private readonly databasePort: number,
  ) {
    server.on('connection', (application) => this.join(application))
  }

  static async listen(databasePort: number): Promise<Proxy> {
    const server = createServer({ allowHalfOpen: true, noDelay: true })
    const proxy = new Proxy(server, databasePort)
    await once(server.listen(0, '127.0.0.1'), 'listening')
    return proxy
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  /** Resets every connection, as a firewall or a crashed router does. */
  reset(): void {
    for (const { application, database } of this.links) {
      reset(application)
      reset(database)
    }
  }

  /** Delivers nothing more, and says nothing: what is sent stays on its way until {@link recover}. */
  swallow(direction: Direction): void {
    this.hole = direction
    for (const link of this.links) this.separate(link)
  }

  /** Delivers what was on its way, however old it is. */
  recover(): void {
    this.hole = undefined
    for (const link of this.links) this.forward(link)
  }

  close(): void {
    this.server.close()
    this.reset()
  }

  private join(application: Socket): void {
    const link = { application, database: connect({ port: this.databasePort, host: '127.0.0.1', noDelay: true }) }
    this.links.add(link)
    this.tie(link, link.application, link.database)
    this.tie(link, link.database, link.application)
    this.forward(link)
    if (this.hole) this.separate(link)
  }

  private tie(link: Link, end: Socket, other: Socket): void {
    end.on('error', () => reset(other))
    end.on('close', () => {
      this.links.delete(link)
      other.destroySoon()
    })
  }

  /** Without a pipe that is there already, or everything would be delivered twice. */
  private forward({ application, database }: Link): void {
    application.unpipe(database).pipe(database)
    database.unpipe(application).pipe(application)
  }

  private separate({ application, database }: Link): void {
    if (this.hole !== 'answers') application.unpipe(database).pause()
    if (this.hole !== 'requests') database.unpipe(application).pause()
  }
}

/** Node never closes a socket that is reset when it has begun to end, and then spins. */
function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}
