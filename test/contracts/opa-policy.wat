;; A policy with the interface of OPA's WebAssembly (ABI 1.2), written by hand: `opa build` is not on npm, so no test compiles Rego.
;; It finds the tool and the amount in the text of the input and gives one of five results, which are texts in its memory.
;;
;;   delete_file                deny, with a reason
;;   refund                     allow up to 100, else ask, with a reason
;;   send_mail                  ask if fetch was called in the turn, with a reason; else allow
;;   odd                        gives a result that is no verdict
;;   broken                     fails
;;   any other                  gives nothing
(module
  (import "env" "memory" (memory 2))
  (global (export "opa_wasm_abi_version") i32 (i32.const 1))
  (global (export "opa_wasm_abi_minor_version") i32 (i32.const 2))
  (global $heap (mut i32) (i32.const 4096))

  (data (i32.const 0) "{}\00")
  (data (i32.const 16) "{\"turnwire/verdict\":0}\00")
  (data (i32.const 64) "[]\00")
  (data (i32.const 128) "[{\"result\":true}]\00")
  (data (i32.const 192) "[{\"result\":{\"then\":\"ask\",\"reason\":\"More than 100.\"}}]\00")
  (data (i32.const 320) "[{\"result\":{\"then\":\"deny\",\"reason\":\"Nothing is deleted.\"}}]\00")
  (data (i32.const 448) "[{\"result\":{\"then\":\"ask\",\"reason\":\"After the web.\"}}]\00")
  (data (i32.const 576) "[{\"result\":{\"then\":\"perhaps\"}}]\00")
  (data (i32.const 1024) "{\"tool\":{\"name\":\"refund\",")
  (data (i32.const 1088) "{\"tool\":{\"name\":\"delete_file\",")
  (data (i32.const 1152) "{\"tool\":{\"name\":\"send_mail\",")
  (data (i32.const 1216) "{\"tool\":{\"name\":\"odd\",")
  (data (i32.const 1280) "{\"tool\":{\"name\":\"broken\",")
  (data (i32.const 1344) "\"input\":{\"amount\":")
  (data (i32.const 1408) "\"turn\":{\"called\":[")
  (data (i32.const 1472) "\"fetch\"")

  (func (export "builtins") (result i32) (i32.const 0))
  (func (export "entrypoints") (result i32) (i32.const 16))
  (func (export "opa_json_dump") (param $at i32) (result i32) (local.get $at))
  (func (export "opa_json_parse") (param $at i32) (param $length i32) (result i32) (local.get $at))
  (func (export "opa_heap_ptr_get") (result i32) (global.get $heap))
  (func (export "opa_heap_ptr_set") (param $at i32) (global.set $heap (local.get $at)))
  (func (export "opa_malloc") (param $length i32) (result i32)
    (local $at i32)
    (local.set $at (global.get $heap))
    (global.set $heap (i32.add (local.get $at) (local.get $length)))
    (local.get $at))

  ;; The place behind the first such text from $at on, or 0.
  (func $after (param $at i32) (param $end i32) (param $text i32) (param $length i32) (result i32)
    (local $index i32)
    (loop $places
      (if (i32.gt_u (i32.add (local.get $at) (local.get $length)) (local.get $end)) (then (return (i32.const 0))))
      (local.set $index (i32.const 0))
      (block $differs
        (loop $bytes
          (if (i32.eq (local.get $index) (local.get $length))
            (then (return (i32.add (local.get $at) (local.get $length)))))
          (br_if $differs
            (i32.ne
              (i32.load8_u (i32.add (local.get $at) (local.get $index)))
              (i32.load8_u (i32.add (local.get $text) (local.get $index)))))
          (local.set $index (i32.add (local.get $index) (i32.const 1)))
          (br $bytes)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br $places))
    (unreachable))

  ;; The input begins with the tool.
  (func $is (param $at i32) (param $text i32) (param $length i32) (result i32)
    (call $after (local.get $at) (i32.add (local.get $at) (local.get $length)) (local.get $text) (local.get $length)))

  ;; The number that begins here, or -1: it is none, not whole, or has more than five digits.
  (func $number (param $at i32) (result i32)
    (local $sum i32)
    (local $digits i32)
    (local $byte i32)
    (loop $next
      (local.set $byte (i32.load8_u (local.get $at)))
      (if (i32.lt_u (i32.sub (local.get $byte) (i32.const 48)) (i32.const 10))
        (then
          (local.set $sum (i32.add (i32.mul (local.get $sum) (i32.const 10)) (i32.sub (local.get $byte) (i32.const 48))))
          (local.set $digits (i32.add (local.get $digits) (i32.const 1)))
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (br_if $next (i32.lt_u (local.get $digits) (i32.const 6))))))
    ;; Behind it stands a comma or the end of the object.
    (if (i32.eqz (local.get $digits)) (then (return (i32.const -1))))
    (if (i32.eq (local.get $byte) (i32.const 44)) (then (return (local.get $sum))))
    (if (i32.eq (local.get $byte) (i32.const 125)) (then (return (local.get $sum))))
    (i32.const -1))

  (func $refund (param $at i32) (param $end i32) (result i32)
    (local $amount i32)
    (local.set $amount (call $after (local.get $at) (local.get $end) (i32.const 1344) (i32.const 18)))
    (if (i32.eqz (local.get $amount)) (then (return (i32.const 64))))
    (local.set $amount (call $number (local.get $amount)))
    (if (i32.lt_s (local.get $amount) (i32.const 0)) (then (return (i32.const 64))))
    (select (i32.const 192) (i32.const 128) (i32.gt_u (local.get $amount) (i32.const 100))))

  (func $mail (param $at i32) (param $end i32) (result i32)
    (local $list i32)
    (local $close i32)
    (local.set $list (call $after (local.get $at) (local.get $end) (i32.const 1408) (i32.const 18)))
    (local.set $close (local.get $list))
    (loop $to (if (i32.ne (i32.load8_u (local.get $close)) (i32.const 93))
      (then (local.set $close (i32.add (local.get $close) (i32.const 1))) (br $to))))
    (select
      (i32.const 448) (i32.const 128)
      (call $after (local.get $list) (local.get $close) (i32.const 1472) (i32.const 7))))

  (func (export "opa_eval")
    (param $reserved i32) (param $entry i32) (param $data i32) (param $at i32) (param $length i32) (param $heap i32)
    (param $format i32) (result i32)
    (local $end i32)
    (local.set $end (i32.add (local.get $at) (local.get $length)))
    (if (call $is (local.get $at) (i32.const 1024) (i32.const 25))
      (then (return (call $refund (local.get $at) (local.get $end)))))
    (if (call $is (local.get $at) (i32.const 1088) (i32.const 30)) (then (return (i32.const 320))))
    (if (call $is (local.get $at) (i32.const 1152) (i32.const 28))
      (then (return (call $mail (local.get $at) (local.get $end)))))
    (if (call $is (local.get $at) (i32.const 1216) (i32.const 22)) (then (return (i32.const 576))))
    (if (call $is (local.get $at) (i32.const 1280) (i32.const 25)) (then (unreachable)))
    (i32.const 64)))
