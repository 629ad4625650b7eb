// SPDX-License-Identifier: MIT
// The contracts that take a payment through Permit2, written for these tests with the interfaces that their callers use:
// x402's two proxies (as @x402/evm calls them) and a terminal as Sixerr's payments need one.
pragma solidity ^0.8.26;

struct TokenPermissions {
    address token;
    uint256 amount;
}

struct PermitTransferFrom {
    TokenPermissions permitted;
    uint256 nonce;
    uint256 deadline;
}

struct TransferDetails {
    address to;
    uint256 requestedAmount;
}

interface IPermit2 {
    function permitTransferFrom(
        PermitTransferFrom calldata permit, TransferDetails calldata details, address owner, bytes calldata signature
    ) external;

    function permitWitnessTransferFrom(
        PermitTransferFrom calldata permit,
        TransferDetails calldata details,
        address owner,
        bytes32 witness,
        string calldata witnessTypeString,
        bytes calldata signature
    ) external;
}

interface IERC20 {
    function transfer(address to, uint256 amount) external returns (bool);
}

abstract contract Spender {
    IPermit2 public constant PERMIT2 = IPermit2(0x000000000022D473030F116dDEE9F6B43aC78BA3);

    error PaymentTooEarly();
    error InvalidDestination();
    error AmountExceedsPermitted();
    error UnauthorizedFacilitator();
}

contract ExactProxy is Spender {
    struct Witness {
        address to;
        uint256 validAfter;
    }

    function settle(PermitTransferFrom calldata permit, address owner, Witness calldata witness, bytes calldata signature)
        external
    {
        if (witness.to == address(0)) revert InvalidDestination();
        if (block.timestamp < witness.validAfter) revert PaymentTooEarly();
        PERMIT2.permitWitnessTransferFrom(
            permit,
            TransferDetails(witness.to, permit.permitted.amount),
            owner,
            keccak256(abi.encode(keccak256("Witness(address to,uint256 validAfter)"), witness)),
            "Witness witness)TokenPermissions(address token,uint256 amount)Witness(address to,uint256 validAfter)",
            signature
        );
    }
}

contract UptoProxy is Spender {
    struct Witness {
        address to;
        address facilitator;
        uint256 validAfter;
    }

    function settle(
        PermitTransferFrom calldata permit,
        uint256 amount,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external {
        if (witness.to == address(0)) revert InvalidDestination();
        if (msg.sender != witness.facilitator) revert UnauthorizedFacilitator();
        if (block.timestamp < witness.validAfter) revert PaymentTooEarly();
        if (amount > permit.permitted.amount) revert AmountExceedsPermitted();
        PERMIT2.permitWitnessTransferFrom(
            permit,
            TransferDetails(witness.to, amount),
            owner,
            keccak256(
                abi.encode(keccak256("Witness(address to,address facilitator,uint256 validAfter)"), witness)
            ),
            "Witness witness)TokenPermissions(address token,uint256 amount)Witness(address to,address facilitator,uint256 validAfter)",
            signature
        );
    }
}

/// A payer signs no recipient in this form, so only the operator may call it.
contract Terminal is Spender {
    address public immutable OPERATOR;
    address public immutable PLATFORM;

    constructor(address operator, address platform) {
        OPERATOR = operator;
        PLATFORM = platform;
    }

    function settle(
        PermitTransferFrom calldata permit,
        address owner,
        address payTo,
        uint256 amount,
        uint256 fee,
        bytes calldata signature
    ) external {
        if (msg.sender != OPERATOR) revert UnauthorizedFacilitator();
        if (amount > permit.permitted.amount || fee > amount) revert AmountExceedsPermitted();
        PERMIT2.permitTransferFrom(permit, TransferDetails(address(this), amount), owner, signature);
        IERC20 token = IERC20(permit.permitted.token);
        require(token.transfer(payTo, amount - fee));
        if (fee > 0) require(token.transfer(PLATFORM, fee));
    }
}

/// Several reads in one, as x402's facilitators ask for them when they look for the reason of a refusal.
contract Reads {
    struct Call {
        address target;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    function tryAggregate(bool, Call[] calldata calls) external payable returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 at = 0; at < calls.length; at++) {
            (bool success, bytes memory returnData) = calls[at].target.call(calls[at].callData);
            results[at] = Result(success, returnData);
        }
    }
}
