// Tells a diff among texts. How it is read and drawn is in files that are loaded when there is one.
export function isUnifiedDiff(text: string): boolean {
  return /^(?:diff --git |--- .*\n\+\+\+ |@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@)/m.test(text.slice(0, 20_000))
}
