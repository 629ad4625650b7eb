// A network that misbehaves between the store and its database: it forwards bytes until a test tells it to cut, swallow or
// hold them.
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export type Network = {
  url: string
  /** What happens to bytes from the store, and from the database. */
  toDatabase: 'pass' | 'cut' | 'hold'
  toStore: 'pass' | 'cut' | 'hold'
  /** Called for each chunk from the store before it is handled. */
  onStatement: ((text: string) => void) | undefined
  /**
   * From here on the first connection over which the store sends a statement that has these words, and then its parameters
   * with `parameter`, gets no answer until `release`. `bytes`: how many of its answer are held.
   */
  holdAnswer(statement: string, parameter?: string): HeldConnection
  /** How many connections were made. */
  connections: number
  /** Ends every connection. */
  cutAll(): void
  close(): Promise<void>
}

export type HeldConnection = { readonly bytes: number; release(): void }

/** What a connection would have given to the store. */
class HeldBytes implements HeldConnection {
  readonly #statement: string
  readonly #parameter: string
  readonly #chunks: Buffer[] = []
  /** What was sent last over each connection. */
  readonly #sent = new Map<Socket, string>()
  #near: Socket | undefined
  #isOver = false

  constructor(statement: string, parameter: string) {
    this.#statement = statement
    this.#parameter = parameter
  }

  get bytes(): number {
    return this.#chunks.reduce((sum, { length }) => sum + length, 0)
  }

  sees(near: Socket, text: string): void {
    if (this.#isOver || this.#near) return
    // The text of a statement is sent by itself if it has no name: the database says first what its parameters are.
    const both = `${this.#sent.get(near) ?? ''}${text}`
    this.#sent.set(near, text)
    const at = both.indexOf(this.#statement)
    if (at !== -1 && both.includes(this.#parameter, at)) this.#near = near
  }

  /** Whether it is held. */
  takes(near: Socket, chunk: Buffer): boolean {
    if (this.#isOver || this.#near !== near) return false
    this.#chunks.push(chunk)
    return true
  }

  release(): void {
    this.#isOver = true
    for (const chunk of this.#chunks) this.#near?.write(chunk)
  }
}

export async function networkTo(url: string): Promise<Network> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  let held: HeldBytes | undefined
  const server = createServer(near => {
    const far = connect(Number(target.port || 5432), target.hostname)
    network.connections += 1
    const end = (): void => {
      near.destroy()
      far.destroy()
    }
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', end)
      socket.on('close', () => {
        sockets.delete(socket)
        end()
      })
    }
    near.on('data', chunk => {
      network.onStatement?.(chunk.toString('latin1'))
      held?.sees(near, chunk.toString('latin1'))
      if (network.toDatabase === 'cut') end()
      else if (network.toDatabase === 'pass') far.write(chunk)
    })
    far.on('data', chunk => {
      if (held?.takes(near, chunk)) return
      if (network.toStore === 'cut') end()
      else if (network.toStore === 'pass') near.write(chunk)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('The proxy has no port.')
  const through = new URL(url)
  through.port = String(address.port)
  through.hostname = '127.0.0.1'
  const network: Network = {
    url: through.href,
    toDatabase: 'pass',
    toStore: 'pass',
    onStatement: undefined,
    connections: 0,
    holdAnswer: (statement, parameter = '') => (held = new HeldBytes(statement, parameter)),
    cutAll() {
      for (const socket of sockets) socket.destroy()
    },
    async close() {
      server.close()
      network.cutAll()
    },
  }
  return network
}
