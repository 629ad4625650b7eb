// The tools that a wire's clients declare, in a session that other wires use too. A declaration replaces the tools that
// the same wire declared before, and leaves those of other wires. The wire's note in the settings has the names.
import type { Settings } from '../language/events.ts'
import type { ToolDeclaration, ToolInput } from '../language/tools.ts'
import { isJsonObject, type JsonObject } from '../lib/json/index.ts'

/** A tool that the caller runs. Nothing is known of its effects. */
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

/** `note`: further data that the wire reads back later. */
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

/** The same for wires without further data. Undefined: nothing changes. */
export function changeOwn(
  settings: Pick<Settings, 'clientTools' | 'wires'>,
  wire: string,
  own: readonly ToolDeclaration[],
): ToolsChange | undefined {
  const change = declareOwn(settings, wire, own)
  const same = JSON.stringify(change.clientTools) === JSON.stringify(settings.clientTools)
  return same ? undefined : change
}

/** Undefined when the wire has noted no tools. */
export function ownNames({ wires }: Pick<Settings, 'wires'>, wire: string): readonly unknown[] | undefined {
  const note = wires?.[wire]
  return isJsonObject(note) && Array.isArray(note['tools']) ? note['tools'] : undefined
}
