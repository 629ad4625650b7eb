// The tools that a door's clients declare, in a session that other doors use too. A door speaks for its own: those that it
// declared last give way to those that it declares now, and those of other doors stay. Its note in the settings has the names.
import type { Settings } from '../language/events.ts'
import type { ToolDeclaration, ToolInput } from '../language/tools.ts'
import { isJsonObject, type JsonObject } from '../lib/json.ts'

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

type Change = Pick<Settings, 'clientTools' | 'notes'>

/** `note`: what else the door wants to read back. */
export function declareOwn(
  settings: Settings,
  door: string,
  own: readonly ToolDeclaration[],
  note: JsonObject = {},
): Change {
  const before = ownNames(settings, door) ?? []
  const names = own.map(({ name }) => name)
  const others = settings.clientTools.filter(({ name }) => !before.includes(name) && !names.includes(name))
  return {
    clientTools: [...others, ...own],
    notes: { ...settings.notes, [door]: { ...note, tools: names } },
  }
}

/** The same for doors that note nothing else: undefined when all stays as it is. */
export function changeOwn(
  settings: Settings,
  door: string,
  own: readonly ToolDeclaration[],
): Change | undefined {
  const change = declareOwn(settings, door, own)
  const same = JSON.stringify(change.clientTools) === JSON.stringify(settings.clientTools)
  return same ? undefined : change
}

/** Undefined when the door has noted none: then all that there are are its own, or none is. */
export function ownNames({ notes }: Settings, door: string): readonly unknown[] | undefined {
  const note = notes?.[door]
  return isJsonObject(note) && Array.isArray(note['tools']) ? note['tools'] : undefined
}
