import { SpanKind, SpanStatusCode, type Span, type Tracer } from '@opentelemetry/api';
import type { ScriptRegistryEvents } from 'luanest/script-registry';
import { errorType } from './error-type';
import type { Subscriptions } from './subscriptions';

/**
 * Creates a span for each call of a script, as a child of the active span. The span has the name of the script and, after an error, the
 * code of the error. The text of the error is left out, because it may contain data of the app.
 */
export function drawSpans(on: Subscriptions, tracer: Tracer): void {
  const spans = new WeakMap<ScriptRegistryEvents['callStarted'], Span>();
  on.on('luanest:script-registry:call.started', (call) => {
    const { registry, script } = call;
    const attributes = {
      'db.system.name': 'redis',
      'db.operation.name': 'EVALSHA',
      'luanest.registry': registry,
      'luanest.script': script,
    };
    spans.set(call, tracer.startSpan(`EVALSHA ${script}`, { kind: SpanKind.CLIENT, attributes }));
  });
  on.on('luanest:script-registry:call.ended', ({ call, error }) => {
    const span = spans.get(call);
    const type = errorType(error);
    if (type !== undefined) span?.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
    span?.end();
  });
}
