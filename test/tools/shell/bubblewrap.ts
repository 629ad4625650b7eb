// Whether bubblewrap works here, which a container may forbid; the reason for skipping the tests that need it otherwise.
import { spawnSync } from 'node:child_process'
import { findBubblewrap } from '../../../src/tools/shell/index.ts'

export const skip: string | false = problem() ?? false

function problem(): string | undefined {
  const program = findBubblewrap()
  if (program === undefined) return 'bubblewrap is not installed'
  const args = ['--unshare-all', '--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', 'true']
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  return status === 0 ? undefined : `bubblewrap does not work here: ${stderr.trim()}`
}
