// Warnings about content that could not be said to a vendor, collected while a request is prepared. Each is kept once.

export type Warn = (warning: string) => void

export function collectWarnings(): { warnings: string[]; warn: Warn } {
  const warnings: string[] = []
  const warn: Warn = warning => {
    if (!warnings.includes(warning)) warnings.push(warning)
  }
  return { warnings, warn }
}
