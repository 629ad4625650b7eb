export const oldestNode: string
export function nodeComplaint(
  versions: { node: string; sqlite?: string | undefined },
  carries: boolean,
): string | undefined
