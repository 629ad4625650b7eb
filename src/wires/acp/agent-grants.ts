// Permissions that hold in every session of an agent, for one owner, where the operator allows that. They are the grants of a
// session of their own, which nobody talks in: so they are recorded, survive a restart and can be revoked like any grant.
// Each session gets a copy, and loses it when the original is revoked.
import type { Engine, SessionRef } from '../../engine/index.ts'
import type { Grant } from '../../language/events.ts'
import type { SessionContext } from './host.ts'

/** The sessions that hold the grants have an owner name of their own, so no list of an owner shows them. */
const ownerOfGrants = (owner: string): string => `grants:${owner}`

export class AgentGrants {
  readonly #engine: Engine
  readonly #ref: SessionRef
  readonly #agent: string
  /** The operator allows them. */
  readonly isOffered: boolean

  constructor({ host, ref }: Pick<SessionContext, 'host' | 'ref'>) {
    this.#engine = host.engine
    this.#ref = ref
    this.#agent = host.info.name
    this.isOffered = host.info.agentGrants === true
  }

  get #owner(): string {
    return ownerOfGrants(this.#ref.owner)
  }

  get #key(): string {
    return `acp:grants:${this.#agent}`
  }

  async list(): Promise<Grant[]> {
    if (!this.isOffered) return []
    const session = await this.#engine.lookUp({ get: 'session', owner: this.#owner, key: this.#key })
    if (session === undefined) return []
    return (await this.#engine.summary({ owner: this.#owner, session })).grants
  }

  /** The tool runs without asking from here on, as long as its definition stays what it is. */
  async give({ tool, toolHash, by }: Pick<Grant, 'tool' | 'toolHash' | 'by'>): Promise<void> {
    if (!this.isOffered) return
    const { session } = await this.#engine.create({
      owner: this.#owner,
      agent: this.#agent,
      wire: 'acp',
      settings: { tools: null, options: {}, clientTools: [] },
      seed: [],
      request: { key: this.#key, hash: this.#agent },
    })
    const home = { owner: this.#owner, session }
    const { grants } = await this.#engine.summary(home)
    if (!grants.some(each => each.tool === tool && each.toolHash === toolHash))
      await this.#engine.command(home, { do: 'grant', grant: { tool, toolHash, by } })
  }

  /** Gives the session the copies that it lacks, and revokes those whose original is gone. */
  async apply(): Promise<void> {
    const [kept, { grants }] = await Promise.all([this.list(), this.#engine.summary(this.#ref)])
    for (const { id, copyOf, by } of grants)
      if (copyOf !== undefined && !kept.some(each => each.id === copyOf))
        await this.#engine.command(this.#ref, { do: 'revoke', grantId: id, by })
    for (const { id: copyOf, tool, toolHash, by } of kept)
      if (!grants.some(each => each.copyOf === copyOf))
        await this.#engine.command(this.#ref, { do: 'grant', grant: { tool, toolHash, by, copyOf } })
  }

  /** `tool`: a name, or `all`. */
  async forget(tool: string, by: string): Promise<number> {
    const found = (await this.list()).filter(grant => tool === 'all' || grant.tool === tool)
    const session =
      found.length > 0
        ? await this.#engine.lookUp({ get: 'session', owner: this.#owner, key: this.#key })
        : undefined
    if (session === undefined) return 0
    const home = { owner: this.#owner, session }
    for (const { id: grantId } of found) await this.#engine.command(home, { do: 'revoke', grantId, by })
    return found.length
  }
}
