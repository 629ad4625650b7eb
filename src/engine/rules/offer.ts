// Which tools a model is offered under given settings, and who runs each. A name belongs to one side only.

import { TurnwireError } from '../../language/errors.ts'
import type { Ask, Settings } from '../../language/events.ts'
import { type Grammar, mayCall, type ToolCaller, type ToolDeclaration } from '../../language/tools.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import { checkDeclaredSchema } from '../../lib/schema/declared.ts'
import { SchemaError, type SchemaSize } from '../../lib/schema/index.ts'
import type { Agent, Tool } from '../ports/index.ts'

/**
 * `deferred`: a search has to find it before the model is shown it. `callers`: who may call it, if the agent says other
 * than the tool.
 */
export type Offered =
  | { side: 'server'; tool: Tool; clientTrust?: boolean; deferred?: true; callers?: readonly ToolCaller[] }
  | { side: 'client'; tool: ToolDeclaration; deferred?: true; callers?: undefined }

/**
 * `declarations`: those that a model may be told of. `always`: the same, less the deferred ones. `callable`: those that
 * programs and other calls may use. `forPrograms`: those of them that no model may call itself. `hidesArguments`: a rule or
 * a tool says what of some arguments nobody may read.
 */
export type Offer = {
  byName: Map<string, Offered>
  declarations: ToolDeclaration[]
  always: ToolDeclaration[]
  deferred: Offered[]
  callable: ToolDeclaration[]
  forPrograms: ToolDeclaration[]
  /** A model is declared all of them: none is deferred or for programs alone. */
  isPlain: boolean
  hidesArguments: boolean
}

const none: readonly Tool[] = []

/**
 * `attached`: tools that a connection brought for this session alone. The agent's own tools go first.
 * `clientOnly`: only the client's tools are offered.
 */
export function buildOffer(
  agent: Agent,
  settings: Settings,
  attached: readonly Tool[] = none,
  clientOnly = false,
): Offer {
  return clientOnly ? clientOffer(agent, settings) : makeOffer(agent, agent.tools, settings, attached)
}

/** The offer of a client's tools alone. Most clients declare the same list with each request. */
const clientOffers = new WeakMap<readonly ToolDeclaration[], { gate: Agent['gate']; offer: Offer }>()

function clientOffer(agent: Agent, settings: Settings): Offer {
  const { clientTools } = settings
  const known = clientOffers.get(clientTools)
  if (known?.gate === agent.gate) return known.offer
  const offer = makeOffer(agent, none, settings, none)
  clientOffers.set(clientTools, { gate: agent.gate, offer })
  return offer
}

/** An offer, and what it is made of: while these are the same, so is the offer. */
export type MadeOffer = {
  agent: Agent
  tools: Agent['tools']
  settings: Settings
  attached: readonly Tool[]
  clientOnly: boolean
  offer: Offer
}

export function madeOffer(
  agent: Agent,
  settings: Settings,
  attached: readonly Tool[],
  clientOnly: boolean,
): MadeOffer {
  const { tools } = agent
  const isOwn = !settings.tools && settings.clientTools.length === 0 && attached.length === 0 && !clientOnly
  const offer = isOwn ? ownOffer(agent, tools) : buildOffer(agent, settings, attached, clientOnly)
  return { agent, tools, settings, attached, clientOnly, offer }
}

/** The offer of an agent's own tools, which all sessions share that change nothing about it. */
const ownOffers = new WeakMap<Agent, { tools: readonly Tool[]; offer: Offer }>()

function ownOffer(agent: Agent, tools: readonly Tool[]): Offer {
  const known = ownOffers.get(agent)
  if (known?.tools === tools) return known.offer
  const offer = makeOffer(agent, tools, { tools: null, clientTools: [] }, none)
  ownOffers.set(agent, { tools, offer })
  return offer
}

function makeOffer(
  { callersOf, search, gate }: Pick<Agent, 'callersOf' | 'search' | 'gate'>,
  own: readonly Tool[],
  settings: Pick<Settings, 'tools' | 'clientTools'>,
  attached: readonly Tool[],
): Offer {
  const byName = new Map<string, Offered>()
  const wait = search
    ? (tool: Tool) => (tool.finds || search.isAlways(tool.name) ? {} : deferred)
    : () => ({})
  const chosen = settings.tools && new Map(settings.tools.map(ref => [ref.name, ref.trust]))
  for (const tool of own) {
    if (tool.trust === 'deny') continue
    const callers = callersOf?.(tool)
    const offered = { side: 'server' as const, tool, ...(callers && { callers }), ...wait(tool) }
    if (!tool.exposed || !chosen) byName.set(tool.name, offered)
    else {
      const clientTrust = chosen.get(tool.name)
      if (clientTrust !== undefined) byName.set(tool.name, { ...offered, clientTrust })
    }
  }
  for (const tool of settings.clientTools)
    byName.set(tool.name, { side: 'client', tool, ...(tool.deferred && deferred) })
  for (const tool of attached) if (!byName.has(tool.name)) byName.set(tool.name, { side: 'server', tool })
  return declared(byName, gate.redactArguments !== undefined)
}

function declared(byName: Map<string, Offered>, hidesByRule: boolean): Offer {
  const callable = [...byName.values()].filter(offered => isFor(offered, 'code')).map(({ tool }) => tool)
  for (const offered of byName.values()) {
    if (offered.side !== 'server') continue
    const { tool } = offered
    const others = (): ToolDeclaration[] => callable.filter(other => other.name !== tool.name)
    if (tool.offeredBeside) offered.tool = { ...tool, ...tool.offeredBeside(others()) }
  }
  const shown = [...byName.values()].filter(offered => isFor(offered, 'model'))
  const declarations = shown.map(({ tool }) => tool)
  const waiting = shown.filter(offered => offered.deferred)
  const always =
    waiting.length === 0 ? declarations : shown.filter(offered => !offered.deferred).map(({ tool }) => tool)
  const forPrograms = callable.filter(({ callers }) => callers !== undefined && !callers.includes('model'))
  const hidesArguments =
    hidesByRule ||
    [...byName.values()].some(({ side, tool }) => side === 'server' && tool.hideArguments !== undefined)
  const isPlain = waiting.length === 0 && forPrograms.length === 0
  return { byName, declarations, always, deferred: waiting, callable, forPrograms, isPlain, hidesArguments }
}

export function isFor({ tool, callers = tool.callers }: Offered, caller: ToolCaller): boolean {
  return mayCall({ ...(callers && { callers }) }, caller)
}

const deferred = { deferred: true } as const

/** Refuses settings that this agent cannot honour. Of a change, only the fields that it sets are checked. */
export function checkOfferSettings(
  agent: Agent,
  settings: Settings,
  change: Partial<Settings> = settings,
  clientOnly = false,
): void {
  if (change.tools) checkReferences(agent, change.tools)
  if (change.options) checkOptions(agent, settings)
  if (change.clientTools?.length) checkClientTools(agent, settings, clientOnly)
  if (change === settings || change.model !== undefined) agent.model(settings)
}

function checkReferences(agent: Agent, references: readonly { name: string }[]): void {
  for (const { name } of references) {
    if (!agent.tools.some(tool => tool.exposed && tool.name === name))
      throw new TurnwireError('unknown_tool', `Agent "${agent.name}" exposes no tool named "${name}".`)
  }
  checkUnique(references, 'agent.tools names the tool')
}

function checkUnique(items: readonly { name: string }[], words: string): void {
  const seen = new Set<string>()
  for (const { name } of items) {
    if (seen.has(name)) throw new TurnwireError('tool_name_conflict', `${words} "${name}" twice.`)
    seen.add(name)
  }
}

function checkOptions(agent: Agent, settings: Settings): void {
  for (const [name, value] of Object.entries(settings.options)) {
    const option = agent.options.find(each => each.name === name)
    if (!option)
      throw new TurnwireError('unknown_option', `Agent "${agent.name}" has no option named "${name}".`)
    if (option.type === 'secret' && typeof value === 'string')
      throw new TurnwireError('internal', `The secret option "${name}" came unsealed.`)
    if (option.type === 'select' && (typeof value !== 'string' || !option.options?.includes(value)))
      throw new TurnwireError(
        'unknown_option',
        `Option "${name}" takes one of: ${option.options?.join(', ')}.`,
      )
  }
}

/** All tools that one client declares, together. Preparing them for a vendor takes time with each request. */
const mostDeclared = { tools: 1_024, bytes: 4 * 1024 * 1024, subschemas: 20_000, references: 2_000 }

function checkClientTools(agent: Agent, { clientTools: tools }: Settings, clientOnly: boolean): void {
  if (!agent.clientTools)
    throw new TurnwireError('bad_request', `Agent "${agent.name}" takes no tools from its clients.`)
  if (tools.length > mostDeclared.tools)
    throw new TurnwireError('invalid_tool', `A client may declare at most ${mostDeclared.tools} tools.`)
  checkUnique(tools, 'The request declares the tool')
  const total = noSize()
  for (const tool of tools) {
    if (!clientOnly && agent.tools.some(own => own.name === tool.name))
      throw new TurnwireError(
        'tool_name_conflict',
        `"${tool.name}" is already a tool of the server: rename yours.`,
      )
    if (!/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]{1,128}$/u.test(tool.name))
      throw new TurnwireError(
        'invalid_tool',
        'A tool name has 1 to 128 characters and no control characters.',
      )
    try {
      const size = tool.input.form === 'json' ? checkSchema(tool.input.schema) : grammarSize(tool.input)
      addSize(total, size, 'The schemas of all declared tools together have')
    } catch (error) {
      if (!(error instanceof SchemaError)) throw error
      throw new TurnwireError(
        'invalid_tool',
        `The schema of tool "${tool.name}" cannot be used: ${error.message}`,
      )
    }
  }
}

/** The schema that a client gives for the answer is bounded as those of its tools are. */
export function checkAsk({ format }: Ask = {}): void {
  if (format?.type !== 'schema') return
  try {
    addSize(noSize(), checkDeclaredSchema(format.schema), 'The schema of the answer has')
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error
    throw new TurnwireError(
      'bad_request',
      `The schema of the answer's format cannot be used: ${error.message}`,
    )
  }
}

function noSize(): SchemaSize {
  return { bytes: 0, subschemas: 0, references: 0 }
}

function grammarSize({ grammar }: { grammar?: Grammar }): SchemaSize {
  return { ...noSize(), bytes: grammar?.definition.length ?? 0 }
}

function addSize(total: SchemaSize, size: SchemaSize, words: string): void {
  for (const what of ['bytes', 'subschemas', 'references'] as const) {
    total[what] += size[what]
    if (total[what] > mostDeclared[what])
      throw new SchemaError('', `${words} more than ${mostDeclared[what]} ${what}. Declare less.`)
  }
}

/** A client declares the same schemas again and again: a schema that was found sound is not walked again. */
const sound = new WeakMap<JsonObject, SchemaSize>()

/** Refuses a schema that no call could ever fit. */
function checkSchema(schema: JsonObject): SchemaSize {
  const known = sound.get(schema)
  if (known) return known
  const size = checkDeclaredSchema(schema)
  const { type } = schema
  if (type !== undefined && ![type].flat().includes('object'))
    throw new SchemaError('/type', 'The arguments of a tool are an object, so "type" must be "object".')
  sound.set(schema, size)
  return size
}
