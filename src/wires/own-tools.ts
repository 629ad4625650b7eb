// The tools that a wire's clients declare, in a session that other doors use too. A wire speaks for its own: those that it
// declared last give way to those that it declares now, and those of other doors stay. Its note in the settings has the names.
import type { Settings } from '../language/events.ts'
import type { ToolDeclaration, ToolInput } from '../language/tools.ts'
import { isJsonObject, type JsonObject } from '../lib/json/index.ts'

/** A tool that the caller runs: what it does there is the caller's own affair. */
export function clientTool(name: string, description: string, input: ToolInput): ToolDeclaration {
  return {
    name,
    description,
    input,
    kind: 'other',
    readOnly: false,
    idempotent: false,
    destructive: false,
    side: 'client',
  }
}

type ToolsChange = Pick<Settings, 'clientTools' | 'wires'>

/** `note`: what else the wire wants to read back. */
export function declareOwn(
  settings: Pick<Settings, 'clientTools' | 'wires'>,
  wire: string,
  own: readonly ToolDeclaration[],
  note: JsonObject = {},
): ToolsChange {
  const before = ownNames(settings, wire) ?? []
  const names = own.map(({ name }) => name)
  const others = settings.clientTools.filter(({ name }) => !before.includes(name) && !names.includes(name))
  return {
    clientTools: [...others, ...own],
    wires: { ...settings.wires, [wire]: { ...note, tools: names } },
  }
}

/** The same for doors that note nothing else: undefined when all stays as it is. */
export function changeOwn(
  settings: Pick<Settings, 'clientTools' | 'wires'>,
  wire: string,
  own: readonly ToolDeclaration[],
): ToolsChange | undefined {
  const change = declareOwn(settings, wire, own)
  const same = JSON.stringify(change.clientTools) === JSON.stringify(settings.clientTools)
  return same ? undefined : change
}

/** Undefined when the wire has noted none: then all that there are are its own, or none is. */
export function ownNames({ wires }: Pick<Settings, 'wires'>, wire: string): readonly unknown[] | undefined {
  const note = wires?.[wire]
  return isJsonObject(note) && Array.isArray(note['tools']) ? note['tools'] : undefined
}
