// Finds models that cannot be asked, because a key or an address is set nowhere. They are told of when a server starts, and not
// refused: the other models work, and a key may come later.
import { unsetIn } from '../models/index.ts'
import type { TurnwireConfig } from './config.ts'

/** `where`: the setting. `problem`: with what to do. */
export function unsetModels({
  agents,
  models = {},
}: Pick<TurnwireConfig, 'agents' | 'models'>): { where: string; problem: string }[] {
  const all = [
    ...agents.map(({ name, model }) => ({ where: `the agent "${name}"`, model })),
    ...Object.entries(models).map(([name, model]) => ({ where: `models.${name}`, model })),
  ]
  return all.flatMap(({ where, model }) => {
    const problem = typeof model === 'string' ? undefined : unsetIn(model)
    return problem === undefined ? [] : [{ where, problem }]
  })
}
