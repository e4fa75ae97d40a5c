/** Environment of a process of the app that this one starts: that of this process, with some variables replaced. */
export function childEnvironment(replaced: Readonly<Record<string, string>>): Record<string, string | undefined> {
  return { ...process.env, ...replaced };
}
