// The columns of a session as every statement that gives whole sessions selects them, and the row they make.
import type { SessionRow, SessionStatus } from '../../../engine/ports.ts'
import { fromColumn } from '../text.ts'
import type { Column } from './rows.ts'

export const SESSION_COLUMNS = 'id, name, owner, agent, status, created_at, updated_at, head'

export type SessionColumns = [
  id: number,
  name: Column,
  owner: Column,
  agent: Column,
  status: SessionStatus,
  createdAt: number,
  updatedAt: number,
  head: number,
]

export function sessionRow([
  ,
  name,
  owner,
  agent,
  status,
  createdAt,
  updatedAt,
  head,
]: SessionColumns): SessionRow {
  return {
    id: fromColumn(name),
    owner: fromColumn(owner),
    agent: fromColumn(agent),
    status,
    createdAt,
    updatedAt,
    head,
  }
}
