// A draft of the rules, in a file of its own, in place of the rules of a configuration. It is code whose default export is a list
// of rules or the options of a gate, or a file of rules in YAML or JSON.
import { resolve } from 'node:path'
import { TurnwireError } from '../language/errors.ts'
import { isRecord } from '../lib/checks/fields.ts'
import type { GateOptions } from '../policy/index.ts'
import type { TurnwireConfig } from './config.ts'
import { readDataText } from './data-file.ts'
import { loadDefault } from './load-config.ts'
import { parseRules } from './rules-file.ts'

/** The rules of agents, and those of the file of the configuration, would come before those of the draft: they are left out. */
export async function withDraft(config: TurnwireConfig, file: string): Promise<TurnwireConfig> {
  const draft = await loadDraft(file)
  if (!draft.rules) return { ...config, policy: { ...config.policy, ...draft } }
  const { file: _file, shadow: _shadow, ...rest } = config.policy ?? {}
  const agents = config.agents.map(agent => ({ ...agent, rules: [] }))
  return { ...config, agents, policy: { ...rest, ...draft } }
}

async function loadDraft(file: string): Promise<GateOptions> {
  if (/\.(ya?ml|json)$/i.test(file)) {
    const { rules } = parseRules(readDataText(file, 'The draft'), file)
    return { rules }
  }
  const loaded = await loadDefault(resolve(file), 'export default [{ tool: …, then: … }]')
  const draft = Array.isArray(loaded) ? { rules: loaded } : loaded
  if (!isRecord(draft))
    throw new TurnwireError('config_invalid', `${file} exports neither a list of rules nor { rules: [ … ] }.`)
  return draft as GateOptions // The rest is checked with the gate.
}
