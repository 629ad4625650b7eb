// Checks what an agent offers beside tools, and what of it is served to MCP clients.
import { checkKinds, checkKnown, isRecord, type Wrong } from '../lib/checks/fields.ts'

const switches = ['tools', 'ask', 'resources', 'prompts']

export function checkServing(serving: unknown, key: string, wrong: Wrong): void {
  if (serving === undefined) return
  if (!isRecord(serving)) {
    wrong(key, 'must be an object such as { tools: true }.')
    return
  }
  checkKnown(serving, [...switches, 'tasks'], `${key}.`, wrong)
  checkKinds(serving, Object.fromEntries(switches.map(name => [name, 'boolean'])), `${key}.`, wrong)
  const { tasks } = serving
  if (tasks === undefined) return
  if (!isRecord(tasks)) {
    wrong(`${key}.tasks`, 'must be an object such as { afterMs: 5000 }.')
    return
  }
  checkKnown(tasks, ['afterMs', 'required'], `${key}.tasks.`, wrong)
  const { afterMs, required } = tasks
  if (afterMs !== undefined && !(Number.isSafeInteger(afterMs) && Number(afterMs) >= 0))
    wrong(`${key}.tasks.afterMs`, 'must be a whole number of milliseconds.')
  if (
    required !== undefined &&
    !(Array.isArray(required) && required.every(name => typeof name === 'string' && name !== ''))
  )
    wrong(`${key}.tasks.required`, 'must be a list of names of tools.')
}

/** What `resource()` and `prompt()` make was checked by them. */
export function checkOffers(agent: Record<string, unknown>, key: string, wrong: Wrong): void {
  const { resources, prompts } = agent
  if (resources !== undefined && !(Array.isArray(resources) && resources.every(isResource)))
    wrong(`${key}.resources`, 'must be a list of resource({ uri, name, read }).')
  if (prompts !== undefined && !(Array.isArray(prompts) && prompts.every(isPrompt)))
    wrong(`${key}.prompts`, 'must be a list of prompt({ name, get }).')
  for (const [list, name, field] of [
    ['resources', resources, 'uri'],
    ['prompts', prompts, 'name'],
  ] as const) {
    const names = Array.isArray(name) ? name.map(each => (isRecord(each) ? each[field] : undefined)) : []
    const twice = names.find((each, index) => names.indexOf(each) !== index)
    if (typeof twice === 'string') wrong(`${key}.${list}`, `"${twice}" is there twice.`)
  }
}

function isResource(value: unknown): boolean {
  return isRecord(value) && typeof value['read'] === 'function' && typeof value['match'] === 'function'
}

function isPrompt(value: unknown): boolean {
  return isRecord(value) && typeof value['get'] === 'function' && typeof value['name'] === 'string'
}
