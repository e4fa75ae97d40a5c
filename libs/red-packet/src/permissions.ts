import type { Logger } from '@nestjs/common';
import { NotSentError, UnknownOutcomeError, type ScriptRegistry } from 'luanest/script-registry';
import { SetupError } from '../../internal/src';
import { checkPermissions } from './activity/activity.scripts';

/** Deadline of the check, ms. If Redis does not reply in time, the app boots without the check. */
const DEADLINE_MS = 1_000;

/**
 * Checks that the Redis user may run every command of this lib's scripts. Checks this for one sample key, on the master of that key.
 * If Redis does not reply, only logs a warning.
 *
 * @throws SetupError with the names of the commands that the user may not run; ScriptRefusedError if Redis refuses the check itself
 */
export async function requirePermissions(registry: ScriptRegistry, logger: Pick<Logger, 'warn'>): Promise<void> {
  const sample = registry.keySpace('red-packet').tag('permission-check').key('meta');
  let missing: string[];
  try {
    missing = await registry.run(checkPermissions, { keys: { sample }, args: {} }, { deadlineMs: DEADLINE_MS });
  } catch (error) {
    if (!(error instanceof NotSentError || error instanceof UnknownOutcomeError)) throw error;
    logger.warn(
      'Redis did not reply, so the permissions of the Redis user for red-packet were not checked. The app boots. If a permission is ' +
        'missing, the calls that need it fail. Start Redis, then restart the app to check this.',
    );
    return;
  }
  if (missing.length > 0) {
    throw new SetupError(
      `RedPacketModule: The Redis user may not run ${missing.join(', ')} on keys such as ${sample}, which red-packet needs. ` +
        `Allow the user these keys and commands with ACL SETUSER: +${missing.join(' +').toLowerCase()}.`,
      { code: 'MISSING_PERMISSION' },
    );
  }
}
