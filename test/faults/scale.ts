// How much a run of the fault suite tries. A plain test run tries a few places of each fault; `npm run test:faults` tries
// every place.

export const isLong = process.env['FAULTS'] === 'long'

/** Places from 1 to `count`: all of them in a long run, otherwise `few`, spread evenly. */
export function places(count: number, few: number): number[] {
  const every = Array.from({ length: count }, (_, at) => at + 1)
  if (isLong || count <= few) return every
  return Array.from({ length: few }, (_, at) => 1 + Math.floor((at * (count - 1)) / few))
}
