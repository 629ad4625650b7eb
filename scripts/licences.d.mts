export function packageOf(file: string): string | undefined
export function licenceText(names: readonly string[]): string
