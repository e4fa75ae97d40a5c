import { errorType } from '../error-type';
import type { Recorder } from '../recorder';
import type { Subscriptions } from '../subscriptions';

export function countScripts(on: Subscriptions, recorder: Recorder): void {
  on.on('luanest:script-registry:group.ended', ({ registry, script, calls, durationMs }) => {
    const named = { 'luanest.registry': registry, 'luanest.script': script };
    recorder.record('luanest.script.group.duration', named, durationMs / 1_000);
    recorder.add('luanest.script.calls', named, calls);
  });
  on.on('luanest:script-registry:call.failed', ({ registry, script, error }) =>
    recorder.add('luanest.script.call.errors', {
      'luanest.registry': registry,
      'luanest.script': script,
      'error.type': errorType(error),
    }),
  );
  on.on('luanest:script-registry:scripts.loaded', ({ registry, error }) =>
    recorder.add('luanest.script.loads', { 'luanest.registry': registry, 'error.type': errorType(error) }),
  );
  on.on('luanest:script-registry:scripts.healed', ({ registry, script }) =>
    recorder.add('luanest.script.heals', { 'luanest.registry': registry, 'luanest.script': script }),
  );
}

export function timeCalls(on: Subscriptions, recorder: Recorder): void {
  on.on('luanest:script-registry:call.ended', ({ call, durationMs, error }) =>
    recorder.record(
      'luanest.script.call.duration',
      { 'luanest.registry': call.registry, 'luanest.script': call.script, 'error.type': errorType(error) },
      durationMs / 1_000,
    ),
  );
}
