// Conversations that clients make and edit as objects of their own. A conversation is a session, with a record beside its
// log. A log only grows, so an edit (items added without a turn, an item deleted, another agent) makes a new session with
// the edited history, and the record names it. The conversation keeps its id, and items keep theirs.
import type { SessionRef, SessionSummary } from '../../engine/index.ts'
import type { Entry } from '../../language/history.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import { ifFound } from '../not-found.ts'
import type { ResponsesCaller } from './caller.ts'
import { wireName } from './decode.ts'
import { idStem } from './ids.ts'
import { encodeInputItems, encodeOpenCalls, type ListedItem } from './item-lists.ts'
import type { Conversation } from './stored.ts'
import { noSuchConversation } from './wordings.ts'

const recordName = 'responses.conversation'

type ConversationRecord = {
  metadata: JsonObject
  /** The session that holds the conversation now. Absent: the one that the conversation is named after. */
  session?: string
  /** The ids of the first items, which were there when that session was made. */
  ids?: string[]
  deleted?: true
}

export type OpenConversation = {
  caller: ResponsesCaller
  id: string
  /** The session that the conversation is named after. It has the record. */
  home: SessionRef
  /** The session that holds the conversation. */
  ref: SessionRef
  createdAt: number
  agent: string
  /** Absent for a session that was not made as a conversation. It cannot be edited. */
  record: ConversationRecord | undefined
}

const prefix = 'conv_'

function conversationSession(id: string): string {
  return id.startsWith(prefix) ? `sess_${id.slice(prefix.length)}` : id
}

export async function createConversation(
  caller: ResponsesCaller,
  agent: string,
  metadata: JsonObject,
  seed: Entry[],
): Promise<OpenConversation> {
  const home = await newSession(caller, agent, seed)
  await keep(caller, home, { metadata })
  return openConversation(caller, prefix + idStem(home.session))
}

async function newSession(
  { engine, owner }: ResponsesCaller,
  agent: string,
  seed: Entry[],
): Promise<SessionRef> {
  const settings = { tools: null, options: {}, clientTools: [] }
  const { session } = await engine.create({ owner, agent, wire: wireName, settings, seed, clientOnly: true })
  return { owner, session }
}

/** To anyone but its owner, and once it is deleted, a conversation does not exist. */
export async function openConversation(caller: ResponsesCaller, id: string): Promise<OpenConversation> {
  const { engine, owner } = caller
  const home = { owner, session: conversationSession(id) }
  const summary = await ifFound(engine.summary(home))
  const kept = summary && (await ifFound(engine.blob(home, { get: 'text', name: recordName })))
  // Only `keep` writes it.
  const record = kept === undefined ? undefined : (JSON.parse(kept) as ConversationRecord)
  if (!summary || record?.deleted) throw noSuchConversation(id)
  const { createdAt, agent } = summary
  const ref = { owner, session: record?.session ?? home.session }
  return { caller, id, home, ref, createdAt, agent, record }
}

async function keep(
  { engine }: ResponsesCaller,
  home: SessionRef,
  record: ConversationRecord,
): Promise<void> {
  await engine.command(home, { do: 'keep', name: recordName, text: JSON.stringify(record) })
}

export async function setMetadata(conversation: OpenConversation, metadata: JsonObject): Promise<void> {
  const { caller, home, record } = conversation
  await keep(caller, home, { ...record, metadata })
}

/** Its responses can still be read. */
export async function deleteConversation({ caller, home, record }: OpenConversation): Promise<void> {
  await keep(caller, home, { metadata: {}, ...record, deleted: true })
}

// ---- items -----------------------------------------------------------------------------------------------------

export type ConversationItems = Conversation & { items: ListedItem[] }

export async function readConversation(conversation: OpenConversation): Promise<ConversationItems> {
  const { caller, ref, record } = conversation
  const { entries, calls } = await caller.engine.history(ref, { get: 'entries' })
  return { entries, calls, items: namedItems(ref, entries, record) }
}

function namedItems(
  { session }: SessionRef,
  entries: readonly Entry[],
  record: ConversationRecord | undefined,
): ListedItem[] {
  const items = encodeInputItems(session, entries)
  const { ids = [] } = record ?? {}
  for (const [index, id] of ids.entries()) if (items[index]) items[index].id = id
  return items
}

/** The items as a client reads them: calls that are open are shown by what they wait for. */
export async function listConversation(conversation: OpenConversation): Promise<ListedItem[]> {
  const { caller, ref, record } = conversation
  const { calls, seq, agent } = await caller.engine.summary(ref)
  if (calls.length === 0) return (await readConversation(conversation)).items
  const { entries } = await caller.engine.history(ref, { get: 'entries', upTo: seq })
  const items = namedItems(ref, entries, record)
  return encodeOpenCalls(items, ref.session, entries, calls, agent)
}

/** Makes the session that holds the conversation from now on. `ids`: of the items in it that are known already. */
export async function moveConversation(
  conversation: OpenConversation,
  seed: Entry[],
  ids: string[],
): Promise<void> {
  const { session } = await newSession(conversation.caller, conversation.agent, seed)
  await pointTo(conversation, session, ids)
}

/** The session that held the conversation is removed if nothing else refers to it. */
export async function pointTo(
  { caller, home, ref, record }: OpenConversation,
  session: string,
  ids: string[],
): Promise<void> {
  const { engine } = caller
  await keep(caller, home, { metadata: {}, ...record, session, ids })
  if (ref.session !== home.session && isUnused(await engine.summary(ref))) await engine.remove(ref)
}

function isUnused({ turn, lastStop }: SessionSummary): boolean {
  return turn === undefined && lastStop === undefined
}
