import { isScheduled } from '../nest-schedule/scheduler-metadata';

const HANDLERS = ['path', 'microservices:pattern', 'microservices:handler_type'];

/** Returns true for a method that handles requests, messages or events, and is not scheduled. */
export function isHandler(method: object): boolean {
  return !isScheduled(method) && HANDLERS.some((key) => Reflect.hasMetadata(key, method));
}
