// Names of networks: version 2 of x402 and Sixerr write them as CAIP-2 does, version 1 has a name for each.
import { loadX402 } from './packages.ts'

/** The id of an EVM chain. Undefined: it is none. */
export function findChainId(network: string): number | undefined {
  const [, id] = /^eip155:([1-9]\d{0,15})$/.exec(network) ?? []
  return id === undefined ? undefined : Number(id)
}

/** Undefined: version 1 has no name for it. */
export async function networkNameV1(network: string): Promise<string | undefined> {
  const id = findChainId(network)
  const { names } = await loadX402()
  return Object.entries(names).find(([, chain]) => chain === id)?.[0]
}
