// Pages of the list of sessions. A store with an index finds them; with any other the list is filtered here, page by page.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AgentInfo, Engine, EngineDescription, FoundPage, ListedSession } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import { isFailure } from '../../language/events.ts'
import { searchPlace, searchText } from '../../language/search-text.ts'
import { present } from '../../lib/json/present.ts'
import { searchExcerpt, searchPhrases } from '../../lib/text/search-words.ts'
import type { Principal } from '../host.ts'
import { publicEvent } from '../public-event.ts'
import type { ListQuery } from './decode.ts'
import { encodeRow, sessionModel } from './encode.ts'
import type { OperatorSession, OperatorSessions } from './schema.ts'

/** Of whom it is asked, and what the server has. */
type Asked = { about: EngineDescription; caller: Principal }

/** Pages of the store that one request looks at. */
const mostPages = 40
/** Each needs a look into a log. */
const mostHits = 50
const excerptLength = 160

/** `owner` null: of all owners. */
export async function listSessions(
  engine: Engine,
  asked: Asked,
  owner: string | null,
  query: ListQuery,
): Promise<OperatorSessions> {
  const found = await findSessions(engine, asked, owner, query)
  if (!found) return filterSessions(engine, asked, owner, query)
  const { rows, next, total, behind } = found
  const sessions: OperatorSession[] = []
  for (const row of rows) {
    const excerpt = query.q === undefined ? undefined : await readExcerpt(engine, asked, row, query.q)
    sessions.push({ ...encodeRow(row, asked.about.agents), ...(excerpt && { found: excerpt }) })
  }
  return { sessions, ...present({ next, total, behind }) }
}

function findSessions(
  engine: Engine,
  { about }: Asked,
  owner: string | null,
  { q, model, sort = q === undefined ? 'created' : 'changed', ascending, limit, ...query }: ListQuery,
): Promise<FoundPage | undefined> {
  const agents = about.agents.filter(each => each.model.name === model).map(({ name }) => name)
  return engine.lookUp({
    get: 'sessions',
    ...query,
    owner,
    order: sort,
    limit: q === undefined ? limit : Math.min(limit, mostHits),
    ...(ascending && { ascending }),
    ...(model !== undefined && { model: { name: model, agents } }),
    ...(q !== undefined && { words: q }),
  })
}

async function readExcerpt(
  engine: Engine,
  { caller }: Asked,
  { id, owner, hit }: FoundPage['rows'][number],
  words: string,
): Promise<OperatorSession['found']> {
  if (!hit) return undefined
  // It may have been removed since it was found.
  const [recorded] = await engine.events({ owner, session: id }, hit.seq - 1, 1).catch(() => [])
  if (!recorded) return undefined
  const event = caller.operator ? recorded.event : publicEvent(recorded.event)
  const text = searchExcerpt(searchText(event) ?? '', searchPhrases(words), excerptLength)
  return { seq: hit.seq, places: hit.count, in: searchPlace(event), text }
}

async function filterSessions(
  engine: Engine,
  { about }: Asked,
  owner: string | null,
  query: ListQuery,
): Promise<OperatorSessions> {
  if (query.sort !== undefined && query.sort !== 'created')
    throw new TurnwireError(
      'bad_request',
      'The store of this server keeps no index, so it has one order only. Leave out "sort".',
    )
  const found: OperatorSession[] = []
  let after = query.after
  for (let pages = 0; pages < mostPages && found.length < query.limit; pages++) {
    // A cursor stands at the end of a page, so no page may have more rows than there is room for.
    const limit = query.limit - found.length
    const status = query.status === 'failed' ? 'idle' : query.status
    const page = await engine.list(owner, { limit, ...present({ status, after }) })
    const matching = page.rows.filter(row => matchesFilter(row, query, about.agents))
    found.push(...matching.map(row => encodeRow(row, about.agents)))
    after = page.next
    if (after === undefined) break
    // A store may answer without waiting. Others get their turn between two pages.
    await nextTurn()
  }
  return { sessions: found, ...present({ next: after }) }
}

function matchesFilter(
  row: ListedSession,
  { status, agent, model, q, from, to }: ListQuery,
  agents: readonly AgentInfo[],
): boolean {
  const words = q?.toLowerCase()
  const { opening = '' } = row.summary
  return (
    (status !== 'failed' || isFailure(row.facts?.stop)) &&
    (agent === undefined || row.agent === agent) &&
    (model === undefined || sessionModel(row, agents) === model) &&
    (from === undefined || row.updatedAt >= from) &&
    (to === undefined || row.createdAt < to) &&
    (words === undefined || row.id.toLowerCase().includes(words) || opening.toLowerCase().includes(words))
  )
}
