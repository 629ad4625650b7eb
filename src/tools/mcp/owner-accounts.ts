// The accounts of owners at the MCP servers of a process: where tokens are kept, and who connects them.
import type { RecordStore, Vault } from '../../engine/ports/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { KeptServer } from './kept-servers.ts'
import { type ConnectionNeeds, OwnerConnections } from './owner-connections.ts'
import type { OwnerNeeds } from './owner-servers.ts'
import { OwnerTokens } from './owner-tokens.ts'
import { isPerOwner } from './spec.ts'

export type AccountNeeds = Pick<ConnectionNeeds, 'fetchOther' | 'now' | 'log' | 'forgotten'> &
  Pick<OwnerNeeds, 'address'> & {
    /** Undefined: the store keeps none. */
    records: () => RecordStore | undefined
    vault: () => Vault
  }

export class OwnerAccounts implements OwnerNeeds {
  readonly account: OwnerNeeds['account']
  readonly address: OwnerNeeds['address']
  /** Undefined: no server is configured so. */
  readonly connections: OwnerConnections | undefined

  constructor(servers: readonly KeptServer[], { records, vault, address, ...needs }: AccountNeeds) {
    const tokens = new OwnerTokens({ records: () => needRecords(records()), vault, now: needs.now })
    const specs = servers.flatMap(({ spec }) => (isPerOwner(spec) ? [spec] : []))
    this.account = (spec, owner) => tokens.account(spec, owner)
    this.address = address
    this.connections = specs.length > 0 ? new OwnerConnections({ ...needs, specs, tokens }) : undefined
  }
}

function needRecords(records: RecordStore | undefined): RecordStore {
  if (records) return records
  throw new TurnwireError(
    'config_invalid',
    'The store of `data` keeps no records, so no owner can connect an account (auth.per of an MCP server). Use another store.',
  )
}
