import type { Logger } from '@nestjs/common';
import { NotSentError, UnknownOutcomeError, type ScriptRegistry } from 'luanest/script-registry';
import { checkPermissions } from './activity/activity.scripts';
import { MissingPermissionError } from './red-packet.errors';

const DEADLINE_MS = 1_000;

/** Checks that the Redis user may run every command of the scripts. @throws MissingPermissionError that names the others */
export async function requirePermissions(registry: ScriptRegistry, logger: Pick<Logger, 'warn'>): Promise<void> {
  const sample = registry.keySpace('red-packet').tag('permission-check').key('meta');
  let missing: string[];
  try {
    missing = await registry.run(checkPermissions, { keys: { sample }, args: {} }, { deadlineMs: DEADLINE_MS });
  } catch (error) {
    if (!(error instanceof NotSentError || error instanceof UnknownOutcomeError)) throw error;
    logger.warn('Redis is unavailable, so the permissions of its user were not checked.');
    return;
  }
  if (missing.length > 0) {
    throw new MissingPermissionError(
      `The Redis user may not run ${missing.join(', ')}. Grant them: +${missing.join(' +').toLowerCase()}.`,
    );
  }
}
