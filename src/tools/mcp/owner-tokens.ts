// The tokens that belong to owners: one record beside the logs for each owner and server, so that all nodes have them. A record is
// sealed together with its owner and the server's address, and read anew before each use, so that a token that was revoked or
// renewed elsewhere is never used. Only one process at a time renews one.
import { setTimeout as pause } from 'node:timers/promises'
import type { KeptRecord, RecordStore, Vault } from '../../engine/ports/index.ts'
import type { ServerConnection } from '../../language/servers.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { sha256 } from '../../lib/json/hash.ts'
import { isJsonObject, type Json, parseJson } from '../../lib/json/index.ts'
import type { AuthStore, KeptAuth } from './auth.ts'
import type { AcceptedDefinitions } from './index.ts'
import type { PendingLogin } from './owner-login.ts'
import type { McpHttpServer } from './spec.ts'

const accountKind = 'mcp-account'
const lockKind = 'mcp-lock'
const loginKind = 'mcp-login'

/** A process that renews a token and dies holds others up for so long. */
const lockMs = 30_000
const lockPollMs = 50
const pageRows = 200

/** What is kept of one owner at one server. `forget`: gives what was kept, if it was anything. */
export type OwnerAccount = Required<AuthStore> & {
  definitions: AcceptedDefinitions
  forget(): Promise<KeptAuth | undefined>
}

/** A login that was begun. `browser`: a secret that the person's browser has. `call`: the one that waits for it. */
export type KeptLogin = PendingLogin & {
  server: string
  owner: string
  browser: string
  redirectUrl: string
  call?: { session: string; callId: string }
  until: number
}

type Needs = { records: () => RecordStore; vault: () => Vault; now: () => number }
type Sealed = { kept: KeptAuth; definitions: ToolDeclaration[] }

export class OwnerTokens {
  readonly #needs: Needs

  constructor(needs: Needs) {
    this.#needs = needs
  }

  account(spec: McpHttpServer, owner: string): OwnerAccount {
    return new SealedAccount(this.#needs, spec, owner)
  }

  /** Newest first. `owner` undefined: of all owners. */
  async list(owner?: string): Promise<(ServerConnection & { owner: string })[]> {
    const found: (ServerConnection & { owner: string })[] = []
    for (let after: string | undefined; ; ) {
      const page = { kind: accountKind, limit: pageRows, ...(after !== undefined && { after }) }
      const { rows, next } = await this.#needs.records().list(page)
      for (const { body, at: since } of rows) {
        const { server, owner: whose, connected } = readOuter(body)
        if (connected && (owner === undefined || whose === owner)) found.push({ server, owner: whose, since })
      }
      if (next === undefined) return found
      after = next
    }
  }

  /** Kept until the person comes back, or the time is over. */
  async keepLogin(state: string, login: KeptLogin): Promise<void> {
    const { records, vault, now } = this.#needs
    for (const old of await records().due(loginKind, 20))
      if ((old.dueAt ?? 0) < now()) await records().remove(old)
    const body = vault().seal(JSON.stringify(login), 'mcp login')
    await records().add({ kind: loginKind, name: sha256(state), at: now(), body, dueAt: login.until })
  }

  /** Once. Undefined: there is none, or its time is over. */
  async takeLogin(state: string): Promise<KeptLogin | undefined> {
    const { records, vault, now } = this.#needs
    const kept = await records().find(loginKind, sha256(state))
    if (!kept || !(await records().remove(kept))) return undefined
    const login = JSON.parse(vault().open(kept.body, 'mcp login')) as KeptLogin // `keepLogin` sealed it.
    return login.until > now() ? login : undefined
  }
}

class SealedAccount implements OwnerAccount {
  readonly #needs: Needs
  readonly #spec: McpHttpServer
  readonly #owner: string
  readonly #name: string
  #version: number | undefined
  #kept: KeptAuth = {}
  /** As it was read or written last. */
  #stored = '{}'
  #definitions: ToolDeclaration[] = []
  /** Of this process: those who want the account alone wait for each other. */
  #last: Promise<unknown> = Promise.resolve()
  readonly definitions: AcceptedDefinitions

  constructor(needs: Needs, spec: McpHttpServer, owner: string) {
    this.#needs = needs
    this.#spec = spec
    this.#owner = owner
    this.#name = `${spec.name}-${sha256(JSON.stringify([spec.name, spec.url, owner])).slice(0, 40)}`
    this.definitions = {
      load: () => this.#definitions,
      save: accepted => {
        this.#definitions = [...accepted]
        // The next process asks once more if it is lost.
        void this.#write(known => known && { ...known, definitions: [...accepted] }).catch(() => {})
      },
    }
  }

  load(): KeptAuth {
    return this.#kept
  }

  save(kept: KeptAuth): void {
    this.#kept = kept
  }

  async pull(): Promise<void> {
    const record = await this.#needs.records().find(accountKind, this.#name)
    if (record?.version !== this.#version) this.#take(record)
  }

  alone<Result>(act: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(() => this.#locked(act))
    this.#last = turn.catch(() => {})
    return turn
  }

  async forget(): Promise<KeptAuth | undefined> {
    return this.alone(async () => {
      const record = await this.#needs.records().find(accountKind, this.#name)
      const known = record && this.#open(record)
      this.#take(undefined)
      if (record) await this.#needs.records().remove(record)
      return known?.kept.tokens ? known.kept : undefined
    })
  }

  async #locked<Result>(act: () => Promise<Result>): Promise<Result> {
    await this.#lock()
    try {
      await this.pull()
      try {
        return await act()
      } finally {
        const kept = this.#kept
        if (JSON.stringify(kept) !== this.#stored && Object.keys(kept).length > 0)
          await this.#write(known => ({ definitions: known?.definitions ?? this.#definitions, kept }))
      }
    } finally {
      await this.#unlock()
    }
  }

  async #lock(): Promise<void> {
    const { records, now } = this.#needs
    for (;;) {
      const until = String(now() + lockMs)
      if (await records().add({ kind: lockKind, name: this.#name, at: now(), body: until })) return
      const held = await records().find(lockKind, this.#name)
      if (held && Number(held.body) < now() && (await records().change(held, { body: until }))) return
      if (held) await pause(lockPollMs)
    }
  }

  async #unlock(): Promise<void> {
    const { records } = this.#needs
    const held = await records().find(lockKind, this.#name)
    if (held) await records().remove(held)
  }

  #take(record: KeptRecord | undefined): void {
    const known = record && this.#open(record)
    this.#version = record?.version
    this.#kept = known?.kept ?? {}
    this.#stored = JSON.stringify(this.#kept)
    this.#definitions = known?.definitions ?? []
  }

  /** `change` is given what is there. Undefined: nothing is written. */
  async #write(change: (known: Sealed | undefined) => Sealed | undefined): Promise<void> {
    const { records, now } = this.#needs
    for (;;) {
      const record = await records().find(accountKind, this.#name)
      const next = change(record && this.#open(record))
      if (!next) return
      const body = this.#seal(next)
      if (!record) {
        if (!(await records().add({ kind: accountKind, name: this.#name, at: now(), body }))) continue
        this.#version = 1
      } else {
        const changed = await records().change(record, { body })
        if (!changed) continue
        this.#version = changed.version
      }
      this.#stored = JSON.stringify(next.kept)
      return
    }
  }

  #seal({ kept, definitions }: Sealed): string {
    const [server, owner] = [this.#spec.name, this.#owner]
    const inner = { server, owner, url: this.#spec.url, kept, definitions }
    const sealed = this.#needs.vault().seal(JSON.stringify(inner), 'mcp account')
    const outer: Outer = { server, owner, connected: kept.tokens !== undefined, sealed }
    return JSON.stringify(outer)
  }

  /** Undefined: it is another owner's, or for another address. */
  #open({ body }: KeptRecord): Sealed | undefined {
    const inner: Json | undefined = parseJson(this.#needs.vault().open(readOuter(body).sealed, 'mcp account'))
    if (!isJsonObject(inner)) return undefined
    const { server, owner, url, kept, definitions } = inner
    if (server !== this.#spec.name || owner !== this.#owner || url !== this.#spec.url) return undefined
    return { kept, definitions } as unknown as Sealed // What `#seal` was given.
  }
}

type Outer = { server: string; owner: string; connected: boolean; sealed: string }

function readOuter(body: string): Outer {
  return JSON.parse(body) as Outer // `#seal` wrote it.
}
