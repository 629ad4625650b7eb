// The data folder is kept from tools. A process does not start with a tool that could reach it all the same.
import type { TurnwireConfig } from '../config/config.ts'
import { TurnwireError } from '../language/errors.ts'
import { keepPrivate } from '../lib/files/private-folders.ts'

/** Keeps the tools out of the data folder. Throws `config_invalid` if one of them could reach it all the same. */
export function keepOut(folder: string, { agents }: TurnwireConfig): () => void {
  const release = keepPrivate(folder)
  for (const { name, tools = [] } of agents)
    for (const tool of tools) {
      const { unsafe } = tool
      if (unsafe === undefined) continue
      release()
      throw new TurnwireError(
        'config_invalid',
        `The tool "${tool.name}" of the agent "${name}" ${unsafe} Set "data" to another folder, or give the tool another one.`,
      )
    }
  return release
}
