export const content: string
export function pageText(file: string, source?: string): string
export function writeContent(base?: string): void
