/** Returns the code of an error of luanest. Any other error is thrown again: no lib may throw it here. */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  if (error instanceof Error && error.message === 'aborted by the caller') return 'ABORTED';
  if (typeof code === 'string' && /^[A-Z_]+$/.test(code)) return code;
  throw error;
}
