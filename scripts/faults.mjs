// The long form of the fault suite: every place of each fault, and 100,000 simulations. The short form is part of
// `npm test`. Arguments narrow the run, as with scripts/test.mjs: `npm run test:faults -- sim` runs the simulations alone,
// SIM_SEED=<n> one of them.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const given = process.argv.slice(2)
const suite = [
  'test/faults',
  'test/crash',
  'test/sim',
  'test/field-bugs',
  'test/cluster/outages',
  'test/cluster/network-cuts',
  'test/cluster/clocks',
  'test/bounded/disk',
  'test/bounded/one-way-cut',
  'power.test',
  'test/payments/crash',
  'test/payments/nodes-crash',
  'test/relay/many-paid',
]
const env = { SIM_SEEDS: '100000', ...process.env, FAULTS: 'long' }
// A file that tries every place may take hours.
const patience = '--test-timeout=14400000'
const run = spawnSync(
  process.execPath,
  [fileURLToPath(new URL('test.mjs', import.meta.url)), patience, ...(given.length > 0 ? given : suite)],
  { stdio: 'inherit', env },
)
process.exit(run.status ?? 1)
