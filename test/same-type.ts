/** Fails to compile unless both types are the same. */
export function sameType<A, B>(
  ..._same: (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? [] : ['other types']
): void {}
