// Opens what a command works with. While MCP servers start, which may be installed first (`npx -y`), a terminal shows that this
// is under way.
import type { TurnwireConfig } from '../config/config.ts'
import { type OpenOptions, Runtime } from '../runtime.ts'
import { withProgress } from './progress.ts'

export function openRuntime(
  config: TurnwireConfig,
  options: OpenOptions & { log: NonNullable<OpenOptions['log']> },
): Promise<Runtime> {
  const servers = Object.keys(config.mcp ?? {})
  if (servers.length === 0) return Runtime.open(config, options)
  return withProgress(`Starting MCP servers: ${servers.join(', ')}`, '', progress =>
    Runtime.open(config, {
      ...options,
      log(...line) {
        progress.erase()
        options.log(...line)
      },
    }),
  )
}
